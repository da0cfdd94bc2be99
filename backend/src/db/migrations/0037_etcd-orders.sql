-- What a control plane showed before it got an order. A later look then tells whether it carries the order out, so that no order is repeated by a timer alone.
-- boot_id: the kernel's id of the boot. etcd_start: when Talos had last started etcd, on the machine's clock, compared as text; a bootstrap starts etcd anew.
alter table cluster_bootstrap add column boot_id text, add column etcd_start text;
alter table cluster_recovery add column boot_id text, add column etcd_start text;
-- The boot in which each control plane got the wipe of etcd, by the server's id.
alter table cluster_recovery add column wiped_boots jsonb not null default '{}';
