-- Capacity commitments: capacity of a server that is promised for a time at a price.

create table capacity_commitment (
  id uuid primary key default gen_random_uuid(),
  server_id uuid not null references server,
  -- The offer that the capacity was sold with.
  offer_id text references offer,
  status text not null default 'not_committed'
    check (status in ('not_committed', 'waiting_delegation', 'waiting_start', 'active', 'completed', 'failed', 'removed')),
  reason text,

  -- The promised capacity; null: unknown. It follows the server's hardware while the commitment is a draft, and until it is known.
  cores integer,
  memory_bytes bigint,
  disk_bytes bigint,
  compute_units integer,
  -- server.hardware_at of the hardware that these were read from.
  measured_at timestamptz(3),

  -- Unconstrained numeric keeps the digits of the decimal text.
  price numeric check (price between 0 and 999999999999.99999999 and scale(price) <= 8),
  currency text,
  basis text check (basis in ('server', 'compute_unit')),
  -- Exact price of the whole server per hour, for the order and the filter of lists.
  hourly numeric generated always as (case basis when 'server' then price when 'compute_unit' then price * compute_units end) stored,

  starts_at timestamptz(3),
  expires_at timestamptz(3),
  committed_at timestamptz(3),
  committed_by text,
  delegated_at timestamptz(3),
  delegated_by text,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  -- When Steelyard changes the status by itself.
  due_at timestamptz(3) generated always as (case status when 'waiting_start' then starts_at when 'active' then expires_at end) stored,

  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  updated_by text not null,

  constraint commitment_price check ((price is null) = (currency is null) and (price is null) = (basis is null)),
  constraint commitment_order check (starts_at is null or expires_at is null or starts_at < expires_at),
  constraint commitment_terms check (status = 'not_committed' or (price is not null and expires_at is not null and committed_at is not null)),
  constraint commitment_start check (status in ('not_committed', 'waiting_delegation', 'removed') or (starts_at is not null and delegated_at is not null))
);
-- A server is promised to one buyer at a time.
create unique index commitment_open on capacity_commitment (server_id)
  where status in ('not_committed', 'waiting_delegation', 'waiting_start', 'active');
create index commitment_server on capacity_commitment (server_id, created_at);
create index commitment_status on capacity_commitment (status);
create index commitment_units on capacity_commitment (compute_units);
create index commitment_hourly on capacity_commitment (hourly);
create index commitment_due on capacity_commitment (due_at) where due_at is not null;

-- The commitment that lists of servers show: the newest that was not removed. The status is here too, because the lists are read from this table alone.
alter table server
  add column commitment_id uuid,
  add column commitment_status text
    check (commitment_status in ('not_committed', 'waiting_delegation', 'waiting_start', 'active', 'completed', 'failed', 'removed')),
  add constraint server_commitment check ((commitment_id is null) = (commitment_status is null));
