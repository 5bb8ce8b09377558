-- SPDX-License-Identifier: GPL-2.0-or-later
-- What VMs and pods are called beside their names: a VM's flavour, and a pod's namespace where an annotation names its
-- project instead.

ALTER TABLE unit ADD COLUMN flavour text, ADD COLUMN namespace text;

-- As in 0045, with "flavour".
ALTER FUNCTION cloud_servers(smallint, jsonb, boolean) RENAME TO cloud_servers_unnamed;
CREATE FUNCTION cloud_servers(c smallint, list jsonb, whole boolean, OUT made bigint, OUT changed bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT s.made, s.changed INTO made, changed FROM cloud_servers_unnamed(c, list, whole) s;
	UPDATE unit u SET flavour = x.flavour FROM jsonb_to_recordset(list) AS x (id text, flavour text)
		WHERE x.flavour <> '' AND u.cluster = c AND u.uuid = x.id AND u.known_by = 'nova'
			AND u.flavour IS DISTINCT FROM x.flavour;
END
$$;
ALTER FUNCTION cloud_servers(smallint, jsonb, boolean) SET jit = off;

-- As in 0049, with the namespace of those whose project an annotation names.
ALTER FUNCTION k8s_pods(smallint, jsonb, boolean) RENAME TO k8s_pods_unnamed;
CREATE FUNCTION k8s_pods(c smallint, list jsonb, whole boolean, OUT changed bigint, OUT made bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT s.changed, s.made INTO changed, made FROM k8s_pods_unnamed(c, list, whole) s;
	UPDATE unit u SET namespace = x.namespace FROM jsonb_to_recordset(list)
			AS x (uid text, namespace text, project text)
		WHERE x.project IS NOT NULL AND u.cluster = c AND u.uuid = x.uid AND u.known_by = 'k8s'
			AND u.namespace IS DISTINCT FROM x.namespace;
END
$$;
ALTER FUNCTION k8s_pods(smallint, jsonb, boolean) SET jit = off;

-- The peer has the CPUs of a VM as vcpus, and its flavour as the name of what is allocated to it.
CREATE FUNCTION api_vm_allocation(u unit, manager text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN manager IN ('libvirt', 'openstack')
		THEN concat(',"vcpus":' || u.cpus, ',"name":' || api_text(u.flavour)) END
$$;
-- A namespace is its pods' project, but where an annotation names that.
CREATE FUNCTION api_kind_tags(u unit, manager text, in_project project) RETURNS text LANGUAGE sql STABLE
PARALLEL SAFE AS $$
	SELECT concat(',"flavour":' || api_text(u.flavour), ',"namespace":' || api_text(coalesce(u.namespace,
		CASE WHEN manager = 'k8s' AND in_project.external_id NOT LIKE 'annotation:%' THEN in_project.name END)))
$$;
SELECT function_edit('api_units', ''',"gpus":'' \|\| u\.gpus\)', ''',"gpus":'' || u.gpus, api_vm_allocation(u, c.manager))');
SELECT function_edit('api_units', ''',"het_offset":'' \|\| u\.het_offset\)',
	''',"het_offset":'' || u.het_offset, api_kind_tags(u, c.manager, pr))');
