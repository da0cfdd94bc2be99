-- Stores: places for snapshots of clusters and for Steelyard's own backups.
create table store (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  kind text not null check (kind in ('folder', 's3')),
  -- Absolute path of the folder.
  folder text,
  -- URL of an S3-compatible service.
  endpoint text,
  region text,
  bucket text,
  prefix text not null default '',
  path_style boolean not null default true,
  access_key_id text,
  -- The secret access key, sealed by the vault.
  secret_sealed bytea,
  -- The last time that something was written to the store and read back, and why the last attempt failed.
  verified_at timestamptz(3),
  problem text,
  problem_since timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint store_name unique (name),
  constraint store_folder check ((kind = 'folder') = (folder is not null)),
  constraint store_s3 check (num_nulls(endpoint, region, bucket, access_key_id, secret_sealed) = case kind when 's3' then 0 else 5 end)
);

-- When snapshots are taken, and how long they are kept. A row without a cluster is about Steelyard's own backups.
create table snapshot_schedule (
  id uuid primary key default gen_random_uuid(),
  cluster_id uuid references cluster,
  store_id uuid not null references store,
  every_hours integer not null check (every_hours between 1 and 168),
  -- Hour of the day, UTC, at which the series begins.
  at_hour integer not null check (at_hour between 0 and 23),
  -- Null: not limited.
  keep_count integer check (keep_count > 0),
  keep_days integer check (keep_days > 0),
  paused boolean not null default false,
  -- The time in the series for which the last snapshot was begun.
  begun_for timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint snapshot_schedule_of unique nulls not distinct (cluster_id)
);

-- A file in a store: a snapshot of a cluster's etcd, or a backup of Steelyard (without a cluster).
create table snapshot (
  id uuid primary key default gen_random_uuid(),
  cluster_id uuid references cluster,
  -- The cluster's name when the snapshot was taken.
  cluster_name text,
  store_id uuid not null references store,
  object_key text not null,
  -- The file in the store that is imported.
  source_key text,
  made_by text not null check (made_by in ('request', 'schedule', 'import')),
  created_by text,
  -- Ready: the file was read back as a whole and is right. Only ready snapshots can be restored.
  status text not null default 'taking' check (status in ('taking', 'ready', 'failed', 'removing', 'removed')),
  -- What the snapshot waits for, or why it failed.
  reason text,
  attempts integer not null default 0,
  -- The server that the snapshot was read from.
  taken_from text,
  taken_at timestamptz(3),
  etcd_version text,
  revision bigint,
  -- UID of the namespace kube-system, which identifies a Kubernetes cluster.
  identity text,
  -- Of the plain content.
  size_bytes bigint,
  sha256 text,
  -- Of the sealed file in the store.
  stored_bytes bigint,
  verified_at timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint snapshot_key unique (store_id, object_key),
  constraint snapshot_ready check (status <> 'ready' or num_nulls(taken_at, size_bytes, sha256, stored_bytes, verified_at) = 0)
);
create index snapshot_of on snapshot (cluster_id, created_at desc);
create index snapshot_open on snapshot (status) where status in ('taking', 'removing');

-- The recovery of a cluster from a snapshot: how far it has come, so that nothing is sent twice.
create table cluster_recovery (
  cluster_id uuid primary key references cluster,
  operation_id uuid not null,
  snapshot_id uuid not null references snapshot,
  -- The control plane that gets the snapshot. The choice never changes while the result of the bootstrap is unknown.
  node_id uuid,
  -- When the wipes of etcd were last sent.
  wiped_at timestamptz(3),
  uploaded_at timestamptz(3),
  called_at timestamptz(3),
  calls integer not null default 0,
  confirmed_at timestamptz(3)
);
