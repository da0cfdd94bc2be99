-- Servers, what was observed of them, their patches, and which process looks after which of them.

create table server (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  status text not null default 'maintenance' check (status in ('ready', 'maintenance', 'deleted')),
  type text not null default 'unknown' check (type in ('unknown', 'control_plane', 'worker')),
  datacenter_id uuid references datacenter,
  -- Which cluster has it, from the reservation to the release. A cluster's name never changes, so it may stand here.
  cluster_id uuid,
  cluster_name text,
  operation_id uuid references operation on delete set null,
  -- The address that is dialled, in its one spelling.
  address text not null,

  identity_state text not null check (identity_state in ('announced', 'unconfirmed', 'confirmed', 'changed')),
  identity_since timestamptz(3) not null,
  identity_note text,
  uuid text,
  serial text,
  manufacturer text,
  product text,
  -- Other hardware that answered in its place: what an alarm is about, and what a person may accept.
  seen_uuid text,
  seen_serial text,
  -- The removed server that this machine was.
  predecessor_id uuid references server,

  -- Observed, never wanted.
  fingerprint text,
  hardware jsonb,
  hardware_at timestamptz(3),
  stage text not null default 'unknown',
  unmet jsonb not null default '[]',
  talos_version text,
  schematic text,
  secure_boot boolean,
  system_disk text,
  reachable boolean,
  unreachable_since timestamptz(3),
  reason text,

  -- Of its patches: how many, and which links they configure (that stops Talos's default DHCP on all others).
  patch_count integer not null default 0,
  patch_links text[] not null default '{}',

  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  removed_at timestamptz(3),
  -- Transaction that wrote it last: readers ask for what changed since a snapshot, without missing what was committed out of order.
  change xid8 not null default pg_current_xact_id(),
  constraint server_of_cluster check ((cluster_id is null) = (cluster_name is null)),
  constraint server_ready_in_cluster check (status <> 'ready' or cluster_id is not null),
  constraint server_removed check ((status = 'deleted') = (removed_at is not null))
);
create unique index server_name on server (name) where status <> 'deleted';
create unique index server_uuid on server (uuid) where status <> 'deleted' and uuid is not null;
create index server_address on server (address) where status <> 'deleted';
create index server_datacenter on server (datacenter_id);
create index server_cluster on server (cluster_id) where cluster_id is not null;
create index server_change on server (change);

-- The last successful answer. Apart from the server's row, so that a contact rewrites forty bytes and not the hardware.
create table server_contact (
  server_id uuid primary key references server on delete cascade,
  at timestamptz(3) not null,
  change xid8 not null default pg_current_xact_id()
) with (fillfactor = 70);
create index server_contact_change on server_contact (change);

create function note_change() returns trigger language plpgsql as $$
begin
  new.change := pg_current_xact_id();
  return new;
end
$$;
create trigger server_changes before update on server for each row execute function note_change();
create trigger server_contact_changes before update on server_contact for each row execute function note_change();

-- What an operation that adds servers was asked, beside its steps (one per address).
create table server_addition (
  -- What its reconciler is woken by.
  key uuid primary key,
  operation_id uuid not null unique references operation on delete cascade,
  datacenter_id uuid references datacenter,
  -- A whole network was asked for: an address without a server is then no failure.
  scan boolean not null
);

-- Which process keeps contact with which part of the servers. Times are the database's.
create table fleet_member (
  id text primary key,
  beat_at timestamptz(3) not null
);
create table fleet_shard (
  shard integer primary key check (shard between 0 and 63),
  owner text,
  lease_until timestamptz(3)
);
insert into fleet_shard (shard) select generate_series(0, 63);

create table patch (
  id uuid primary key default gen_random_uuid(),
  server_id uuid not null references server on delete cascade,
  name text not null,
  weight integer not null check (weight between 0 and 999),
  labels jsonb not null default '{}',
  -- The YAML text; it may hold registry passwords and WireGuard keys.
  body_sealed bytea not null,
  -- Links that its link and DHCP documents name.
  links text[] not null default '{}',
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  created_by_name text not null,
  constraint patch_name unique (server_id, name)
);
create index patch_order on patch (server_id, weight, created_at, id);
