-- BMCs, which switch servers, and the credentials that several of them have in common.
create table bmc_credential (
  id uuid primary key default gen_random_uuid(),
  name text not null constraint bmc_credential_name unique,
  username text not null,
  password_sealed bytea not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

create table bmc (
  id uuid primary key default gen_random_uuid(),
  address text not null,
  port integer not null,
  server_id uuid references server,
  -- Servers of which exactly one mark agrees: a user decides.
  candidates jsonb not null default '[]',
  status text not null check (status in ('unconfirmed', 'ready', 'unreachable', 'denied', 'changed', 'unsupported')),
  reason text,
  status_since timestamptz(3) not null,
  -- The certificate that a user has agreed to. Without it nothing secret is sent.
  fingerprint text,
  -- The certificate that it showed last.
  certificate jsonb,
  credential_id uuid references bmc_credential,
  username text,
  password_sealed bytea,
  -- Where the box that it makes stands and what labels it has, if whoever added it said so.
  wishes jsonb not null default '{}',

  -- Observed, never wanted.
  uuid text,
  serial text,
  macs text[] not null default '{}',
  vendor text,
  model text,
  firmware text,
  system_path text,
  capabilities jsonb not null default '{}',
  power text not null default 'unknown' check (power in ('on', 'off', 'turning_on', 'turning_off', 'unknown')),
  power_since timestamptz(3),
  lit boolean,
  -- What the operation that runs brings the power to, and since when. Nothing else ever switches.
  power_wanted text check (power_wanted in ('on', 'off')),
  power_wanted_at timestamptz(3),

  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint bmc_place unique (address, port),
  constraint bmc_password check ((username is null) = (password_sealed is null)),
  constraint bmc_one_account check (credential_id is null or username is null),
  constraint bmc_confirmed check (status not in ('ready', 'denied') or fingerprint is not null)
);
create unique index bmc_server on bmc (server_id) where server_id is not null;
create index bmc_of_credential on bmc (credential_id) where credential_id is not null;

-- When a BMC is asked again, and how it is signed in: apart from its row, because it changes with each answer.
create table bmc_contact (
  bmc_id uuid primary key references bmc on delete cascade,
  due_at timestamptz(3) not null,
  -- The process that asks it now. Times are the database's.
  owner text,
  lease_until timestamptz(3),
  -- Its last answer took long, or there was none.
  slow boolean not null default false,
  failures integer not null default 0,
  answered_at timestamptz(3),
  power_seen_at timestamptz(3),
  inventory_at timestamptz(3),
  -- The session on the BMC.
  session_sealed bytea
) with (fillfactor = 70);
create index bmc_contact_due on bmc_contact (due_at);

alter table server
  add column bmc_id uuid,
  add column power text,
  add column power_since timestamptz(3),
  -- A box that nobody has booted yet has no address, so that nothing can dial it.
  add constraint server_not_booted check ((stage = 'not_booted') = (address = ''));
