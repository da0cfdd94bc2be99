-- Servers that a change of a running cluster adds or removes.
alter table cluster_server
  -- A change has reserved the server, and its turn to join has not come: nothing is sent to it.
  add column waits boolean not null default false,
  -- The workload disks are not wiped when the server leaves.
  add column keeps_disks boolean not null default false;
