-- Servers that join by themselves: the tokens that let them, and what announced itself.

-- The key that tokens are derived with, sealed: a token is made again from its id, and only its hash is stored.
create table join_key (
  id integer primary key default 1 check (id = 1),
  key_sealed bytea not null
);

create table join_token (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  -- SHA-256 of the token.
  hash bytea not null unique,
  datacenter_id uuid references datacenter on delete set null,
  max_uses integer check (max_uses >= 1),
  uses integer not null default 0,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_by text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  version bigint not null default 1
);
-- The name of a revoked one may be given again.
create unique index join_token_name on join_token (name) where revoked_at is null;

-- What announced itself. A use is a UUID with a row whose result is not `refused`. A UUID has one row, which follows it from address to address;
-- two while it is announced from two addresses at once: there are boards that share one.
create table join_arrival (
  id uuid primary key default gen_random_uuid(),
  token_id uuid not null references join_token,
  uuid text not null,
  serial text not null,
  mac text,
  address text not null,
  -- The host name that was given with the last answer: the API at the address must show it.
  host_name text,
  at timestamptz(3) not null,
  result text not null check (result in ('waiting', 'joined', 'failed', 'refused')),
  reason text,
  server_id uuid references server,
  -- Who waits is looked after in so many parts, each by one process at a time.
  shard smallint not null,
  unique (token_id, uuid, address)
);
create index join_arrival_at on join_arrival (token_id, at desc);
create index join_arrival_waiting on join_arrival (shard) where result = 'waiting';
