-- What an operation was asked for, as its kind declares it (contract/operations.ts). Until now each domain kept that in tables of its own.
alter table operation add column arguments jsonb not null default '{}';

update operation o set arguments = jsonb_build_object('datacenter_id', a.datacenter_id, 'scan', a.scan)
  from server_addition a where a.operation_id = o.id;
drop table server_addition;

update operation o set arguments = jsonb_build_object('keep_workload_disks', m.keep_workload_disks)
  from cluster_server m where m.operation_id = o.id and o.kind = 'serverReset';
alter table cluster_server drop column keep_workload_disks;
