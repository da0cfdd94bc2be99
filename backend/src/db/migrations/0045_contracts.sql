-- The form of configurations, which outlives upgrades of Talos.

-- The minor of Talos in whose form the cluster's configurations are generated: `1.13`. Talos keeps a configuration in the form that it has, and a server that joins later gets the form of the others.
alter table cluster add column contract text check (contract ~ '^1\.\d{1,3}$');
update cluster set contract = substring(talos_version from '^v?(1\.\d{1,3})\.');
update cluster set contract = '1.13' where contract is null;
alter table cluster alter column contract set not null;

-- Whether a configuration that was generated in an older form was moved to the documents of Talos 1.14; of the cluster: whether that was done with all of its servers.
alter table cluster add column is_moved boolean not null default false;
alter table cluster_server add column is_moved boolean not null default false;
