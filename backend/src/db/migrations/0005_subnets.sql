-- Subnets and what clusters make of them. Overlap and double assignment are refused here, whatever the code above believes.

create extension if not exists btree_gist;

create table subnet (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  datacenter_id uuid not null references datacenter,
  cidr cidr not null,
  -- A bare address: one with a mask is inside nothing.
  gateway inet check (gateway << cidr and masklen(gateway) = case family(gateway) when 4 then 32 else 128 end),
  vlan_id integer check (vlan_id between 1 and 4094),
  -- Addresses and a-b ranges in their one spelling, sorted and disjoint.
  exclude text[] not null default '{}',
  first_and_last boolean not null default false,
  purpose text not null default 'workload' check (purpose in ('workload', 'management')),
  -- Addresses that may be handed out, counted when the subnet is written. 2^96 does not fit a bigint.
  total numeric not null,
  -- Private space (RFC 1918, RFC 6598, RFC 4193) may be used once in each datacenter, public space once.
  scope text not null generated always as (
    case
      when cidr <<= '10.0.0.0/8' or cidr <<= '172.16.0.0/12' or cidr <<= '192.168.0.0/16' or cidr <<= '100.64.0.0/10' or cidr <<= 'fc00::/7'
        then datacenter_id::text
      else 'public'
    end
  ) stored,
  -- Counts what people write: what a cluster makes of it changes on its own, and must not make their edits stale.
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  updated_by text not null,
  unique (id, purpose),
  -- Both are looked at when a statement has ended, and in an import when all have: two subnets may swap their names or their space.
  constraint subnet_name unique (name) deferrable,
  constraint subnet_overlap exclude using gist (scope with =, cidr inet_ops with &&) deferrable
);
create index subnet_datacenter on subnet (datacenter_id);

create table subnet_assignment (
  subnet_id uuid not null,
  cluster_id uuid not null references cluster,
  purpose text not null,
  state text not null check (state in ('applying', 'active', 'draining', 'error')),
  reason text,
  -- Draining: Services lose their addresses at once.
  forced boolean not null default false,
  assigned_by text not null,
  assigned_at timestamptz(3) not null,
  -- From here on the cluster may hold the pool, whatever was heard of it: until then a subnet can be taken back without asking the cluster.
  sent_at timestamptz(3),
  -- Hash of the pool that was last read back as wanted: what differs from it later, somebody changed.
  applied text,
  -- Last time that the cluster told which addresses are in use, and how many there were.
  observed_at timestamptz(3),
  used integer,
  primary key (subnet_id, cluster_id),
  foreign key (subnet_id, purpose) references subnet (id, purpose)
);
-- A workload subnet is one cluster's; several may share a management subnet.
create unique index subnet_one_cluster on subnet_assignment (subnet_id) where purpose = 'workload';
create index subnet_assignment_cluster on subnet_assignment (cluster_id);

-- Addresses that a cluster was seen to use.
create table subnet_use (
  subnet_id uuid not null,
  cluster_id uuid not null,
  address inet not null,
  -- namespace/name of the Service.
  used_by text not null,
  primary key (subnet_id, address, cluster_id),
  foreign key (subnet_id, cluster_id) references subnet_assignment on delete cascade
);

-- What is known of the software that hands addresses out in a cluster, and the operation that changes its pools now.
create table cluster_pool (
  cluster_id uuid primary key references cluster,
  provider text check (provider in ('cilium', 'metallb')),
  -- Hash of what announces the pools, as it was last read back.
  announced text,
  operation_id uuid references operation,
  operation_round integer not null default 1,
  -- Last time that the pools were read back.
  checked_at timestamptz(3),
  misses integer not null default 0
);
