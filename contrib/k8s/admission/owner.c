/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose word on an owner counts. */
#include "contrib/k8s/admission/owner.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"

#define SERVICE_ACCOUNT "system:serviceaccount:"
#define SYSTEM "system:"
#define NODE "system:node:"
#define OWNER_BYTES 1024

static bool begins_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

int owner_check(const struct owner_rules *rules, struct err *err)
{
	for (size_t i = 0; i < rules->namers->count; i++) {
		const char *s = rules->namers->items[i], *colon = strchr(s, ':');
		const char *at = colon ? strchr(colon, '@') : NULL;
		if (!colon || colon == s || !colon[1] || colon + 1 == at ||
		    (at && !at[1]) || strpbrk(s, " \t") || strchr(colon + 1, ':'))
			return err_set(err, -EINVAL,
				       "admission.namer: %.100s: must be "
				       "NAMESPACE:ACCOUNT or "
				       "NAMESPACE:ACCOUNT@NAMESPACE",
				       s);
	}
	for (size_t i = 0; i < rules->controllers->count; i++) {
		const char *s = rules->controllers->items[i];
		if (!strchr(s, ':') || strpbrk(s, " \t"))
			return err_set(err, -EINVAL,
				       "admission.controller: %.100s: must be "
				       "NAMESPACE:ACCOUNT, or a user that begins with "
				       "system:",
				       s);
	}
	return 0;
}

/* Whether user is the service account "NAMESPACE:ACCOUNT" of len bytes. */
static bool is_account(const char *user, const char *entry, size_t len)
{
	if (!begins_with(user, SERVICE_ACCOUNT))
		return false;
	user += strlen(SERVICE_ACCOUNT);
	return strlen(user) == len && memcmp(user, entry, len) == 0;
}

static bool is_namer(const struct conf_list *l, const char *user, const char *namespace)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *s = l->items[i];
		size_t n = strcspn(s, "@"), own = strcspn(s, ":");
		if (!is_account(user, s, n))
			continue;
		if (s[n] &&
		    (strcmp(s + n, "@*") == 0 || strcmp(s + n + 1, namespace) == 0))
			return true;
		if (!s[n] && strlen(namespace) == own && memcmp(s, namespace, own) == 0)
			return true;
	}
	return false;
}

/* The controllers of Kubernetes that make pods, or what makes pods: all kinds of
 * templates that they use are reviewed. Source: kubernetes,
 * pkg/controller/... (names of their service accounts in kube-system). */
static bool is_builtin_controller(const char *user)
{
	static const char *const names[] = {
		"deployment-controller",  "replicaset-controller",
		"statefulset-controller", "daemon-set-controller",
		"job-controller",         "cronjob-controller",
		"replication-controller",
	};

	/* without --use-service-account-credentials it is one user for all */
	if (strcmp(user, "system:kube-controller-manager") == 0)
		return true;
	if (!begins_with(user, SERVICE_ACCOUNT "kube-system:"))
		return false;
	user += strlen(SERVICE_ACCOUNT "kube-system:");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(user, names[i]) == 0)
			return true;
	}
	return false;
}

static bool is_controller(const struct conf_list *l, const char *user)
{
	if (is_builtin_controller(user))
		return true;
	for (size_t i = 0; i < l->count; i++) {
		const char *s = l->items[i];
		if (begins_with(s, SYSTEM) ? strcmp(s, user) == 0
					   : is_account(user, s, strlen(s)))
			return true;
	}
	return false;
}

enum owner_caller owner_caller_of(const struct owner_rules *rules, const char *user,
				  const char *namespace)
{
	if (is_controller(rules->controllers, user))
		return OWNER_CONTROLLER;
	if (is_namer(rules->namers, user, namespace))
		return OWNER_NAMER;
	return begins_with(user, NODE) ? OWNER_NODE : OWNER_USER;
}

bool owner_is_plausible(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	if (!n || n >= OWNER_BYTES || begins_with(name, SYSTEM) ||
	    !utf8_is_text(name, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	}
	return true;
}
