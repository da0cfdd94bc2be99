-- Servers that leave a cluster which stays, each by an operation of its own.

alter table cluster_server
  -- The operation whose steps are written while it leaves; null: those of the cluster's.
  add column operation_id uuid references operation,
  add column keep_workload_disks boolean not null default false,
  -- When it was seen in maintenance after its reset: from here on nothing more is asked of it.
  add column wiped_at timestamptz(3);
