-- What is wrong with servers, clusters and datacenters. One row per time that it lasts; what comes back within the hour continues its row.
create table finding (
  id uuid primary key default gen_random_uuid(),
  kind text not null,
  severity text not null check (severity in ('down', 'degraded', 'attention')),
  object_kind text not null check (object_kind in ('server', 'cluster', 'datacenter')),
  object_id uuid not null,
  -- The names stay when the objects are removed.
  object_name text not null,
  cluster_id uuid,
  cluster_name text,
  datacenter_id uuid,
  datacenter_code text,
  -- The operation that mends it when it is tried again.
  operation_id uuid,
  since timestamptz(3) not null,
  reason text not null,
  count integer not null default 1,
  -- When it began within the last hour.
  begins timestamptz(3)[] not null,
  acknowledged_at timestamptz(3),
  acknowledged_by text,
  acknowledged_note text,
  caused_by uuid references finding on delete set null,
  ended_at timestamptz(3)
);
-- Two processes can't store one finding twice.
create unique index finding_open on finding (object_kind, object_id, kind) where ended_at is null;
create index finding_ended on finding (ended_at) where ended_at is not null;
create index finding_cause on finding (caused_by) where caused_by is not null;

-- The servers that a finding about several concerns.
create table finding_affected (
  finding_id uuid not null references finding on delete cascade,
  server_id uuid not null,
  name text not null,
  since timestamptz(3) not null,
  ended_at timestamptz(3),
  primary key (finding_id, server_id)
);

-- What the watch over a cluster that was ready has found, beside the reason of its status.
alter table cluster
  add column problem text check (problem in ('api', 'nodes', 'components', 'former_member')),
  add column problem_since timestamptz(3);
-- The next look of the watch says which problem it is.
update cluster set problem = 'nodes', problem_since = updated_at where status = 'degraded';
