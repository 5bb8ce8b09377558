# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/rig/openstack's env, by tests that ask Keystone and Nova: as the administrator, or as a user.
os_token() { # USER PASSWORD PROJECT [DOMAIN]: prints a token
	curl -s -m 60 -D - -o /dev/null -H 'Content-Type: application/json' "$OS_IDENTITY/v3/auth/tokens" -d '{"auth": {"identity": {"methods": ["password"],
		"password": {"user": {"name": "'"$1"'", "domain": {"id": "'"${4:-default}"'"}, "password": "'"$2"'"}}},
		"scope": {"project": {"name": "'"$3"'", "domain": {"id": "'"${4:-default}"'"}}}}}' | tr -d '\r' | sed -n 's/^[Xx]-[Ss]ubject-[Tt]oken: //p'
}
os_admin() { os_token admin "$OS_ADMIN_PASSWORD" admin; }
keystone() { # PATH [curl's options]
	curl -s -m 60 -H "X-Auth-Token: $os_token" -H 'Content-Type: application/json' "${@:2}" "$OS_IDENTITY/v3$1"
}
nova() { # PATH [curl's options]: by microversion $os_version
	curl -s -m 120 -H "X-Auth-Token: ${os_user_token:-$os_token}" -H "X-OpenStack-Nova-API-Version: ${os_version:-2.87}" \
		-H 'Content-Type: application/json' "${@:2}" "$OS_COMPUTE$1"
}
os_domain() { keystone /domains -d '{"domain": {"name": "'"$1"'"}}' | jq -er .domain.id; }
os_project() { keystone /projects -d '{"project": {"name": "'"$1"'", "domain_id": "'"${2:-default}"'"}}' | jq -er .project.id; } # NAME [DOMAIN]
os_user() { keystone /users -d '{"user": {"name": "'"$1"'", "password": "pw", "domain_id": "'"${2:-default}"'"}}' | jq -er .user.id; } # NAME [DOMAIN]
os_role() { keystone /roles | jq -er '.roles[] | select(.name == "'"$1"'") | .id'; }
os_grant() { keystone "/projects/$1/$2/$3/roles/$(os_role "$4")" -X PUT -o /dev/null -w '%{http_code}\n' | grep -qx 204; } # PROJECT users|groups ID ROLE
os_flavour() { # NAME [extra specs]: 2 CPUs, 64 MiB
	local id
	id=$(nova /flavors -d '{"flavor": {"name": "'"$1"'", "ram": 64, "vcpus": 2, "disk": 1}}' | jq -er .flavor.id) || return 1
	[ -z "${2:-}" ] || nova "/flavors/$id/os-extra_specs" -d "{\"extra_specs\": $2}" -o /dev/null
	echo "$id"
}
os_server() { # NAME FLAVOUR [HOST]: by $os_user_token's user; prints its id. A host needs the administrator
	nova /servers -d '{"server": {"name": "'"$1"'", "flavorRef": "'"$2"'", "imageRef": "11111111-2222-4333-8444-555555555555",
		"networks": "none"'"${3:+, \"host\": \"$3\"}"'}}' | jq -er .server.id
}
os_state() { nova "/servers/$1" | jq -r '.server.status // "gone"'; }
os_is() { [ "$(os_state "$1")" = "$2" ]; } # ID STATE
os_delete() { nova "/servers/$1" -X DELETE -o /dev/null -w '%{http_code}' | grep -qx 204; }

replayed_cloud() { # PORT [KEYS]: clusters.yaml's item of the cloud that test/fake/openstack_host.py replays; more KEYS of its extra_config
	cat <<-END
		- id: cloud
		  manager: openstack
		  extra_config:
		    api_service_endpoints: {identity: "http://127.0.0.1:$1"}
		    auth:
		      identity: {methods: [password], password: {user: {name: ceems, password: secret-of-this-test, domain: {name: Default}}}}
		      scope: {project: {name: admin, domain: {name: Default}}}
		    login_domains: [Default]
		    refresh_interval: 1s
		    people_interval: 1s
	END
	[ -z "${2:-}" ] || sed 's/^/    /' <<<"$2"
}
