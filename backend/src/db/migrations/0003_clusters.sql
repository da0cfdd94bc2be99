-- Clusters: what was asked for, what was observed, and the few facts that must survive a crash because no server can tell them.

create table cluster (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  datacenter_id uuid not null references datacenter,
  talos_version text not null,
  kubernetes_version text not null,
  -- URL of the Kubernetes API.
  endpoint text not null,
  virtual_ip boolean not null,
  vlan_id integer check (vlan_id between 1 and 4094),
  pod_cidr cidr not null,
  service_cidr cidr not null,
  -- EIP-55 address of the cluster's key.
  chain_address text not null,
  offer_id text,
  -- What people asked for.
  wanted text not null default 'ready' check (wanted in ('ready', 'removed')),
  forced boolean not null default false,
  -- What is observed.
  status text not null default 'pending'
    check (status in ('pending', 'configuring', 'installing', 'bootstrapping', 'ready', 'degraded', 'failed', 'deleting')),
  reason text,
  -- The operation whose steps the reconciler writes, and the last round of it (retries) that was begun.
  operation_id uuid references operation,
  operation_round integer not null default 1,
  escrowed_at timestamptz(3),
  -- First time that etcd, trustd and the API server of one control plane were healthy: workers wait for it.
  control_plane_at timestamptz(3),
  nodes_ready_at timestamptz(3),
  key_applied_at timestamptz(3),
  access_applied_at timestamptz(3),
  ready_at timestamptz(3),
  -- Consecutive failed looks at a cluster that was ready.
  misses integer not null default 0,
  deleted_at timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create unique index cluster_name on cluster (name) where deleted_at is null;
create index cluster_datacenter on cluster (datacenter_id) where deleted_at is null;

-- Sealed: the PKI bundle and the private half of the cluster's key. Apart from everything that is read for answers.
create table cluster_secret (
  cluster_id uuid not null references cluster on delete cascade,
  kind text not null check (kind in ('bundle', 'chain_key')),
  sealed bytea not null,
  created_at timestamptz(3) not null,
  primary key (cluster_id, kind)
);

create table cluster_server (
  cluster_id uuid not null references cluster on delete cascade,
  node_id uuid not null,
  role text not null check (role in ('control_plane', 'worker')),
  position integer not null,
  -- The name while it is in the cluster: host name and Kubernetes node name.
  name text not null,
  interface text,
  install_disk text not null,
  install_image text not null,
  workload_disks text[] not null default '{}',
  wanted text not null default 'joined' check (wanted in ('joined', 'released')),
  -- Where it is on its way, for the plan's steps: never what decides, only what is shown and since when.
  at text not null default 'config',
  at_since timestamptz(3) not null,
  stage text,
  seen_at timestamptz(3),
  -- Committed before the configuration is sent: from here on the server may hold it, whatever the answer was.
  send_intent_at timestamptz(3),
  sent_at timestamptz(3),
  -- How often it was sent, and when the server was first seen to have left maintenance after that.
  sends integer not null default 0,
  left_at timestamptz(3),
  was_installed boolean,
  secured_at timestamptz(3),
  etcd_at timestamptz(3),
  node_ready_at timestamptz(3),
  reset_intent_at timestamptz(3),
  -- When the server was heard to take it; null while that is unknown.
  reset_sent_at timestamptz(3),
  resets integer not null default 0,
  failed_at timestamptz(3),
  failure text,
  released_at timestamptz(3),
  primary key (cluster_id, node_id)
);
-- Two clusters can't take one server, whatever the programs do.
create unique index cluster_server_taken on cluster_server (node_id) where released_at is null;

-- Rendered once and sealed: the bytes that were validated are the bytes that are sent.
create table cluster_server_config (
  cluster_id uuid not null,
  node_id uuid not null,
  generation integer not null,
  sealed bytea not null,
  -- SHA-256 of the bytes, hex.
  hash text not null,
  created_at timestamptz(3) not null,
  primary key (cluster_id, node_id, generation),
  foreign key (cluster_id, node_id) references cluster_server on delete cascade
);

-- etcd is made once per cluster. Talos refuses a second bootstrap on the same server, but not one on another: this row decides.
create table cluster_bootstrap (
  cluster_id uuid primary key references cluster on delete cascade,
  node_id uuid not null,
  node_uuid text not null,
  intent_at timestamptz(3) not null,
  called_at timestamptz(3),
  calls integer not null default 0,
  confirmed_at timestamptz(3)
);

alter table server add constraint server_cluster foreign key (cluster_id) references cluster;
