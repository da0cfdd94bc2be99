-- The platform: people and their sessions, sealed keys, the audit log, live events, operations, the engine, datacenters.
-- Times are timestamptz(3): what JavaScript can hold, so that a value read and compared is the value written.

create table installation (
  singleton boolean primary key default true check (singleton),
  id uuid not null default gen_random_uuid(),
  -- Fingerprint of the key file that seals this database's secrets; another key file is refused at start.
  key_fingerprint text,
  -- Makes the successors of refresh tokens.
  rotation_key_sealed bytea,
  created_at timestamptz(3) not null default now()
);
insert into installation default values;

create table person (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  password_hash text not null,
  disabled_at timestamptz(3),
  last_sign_in_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  version bigint not null default 1,
  constraint person_email_lower check (email = lower(email))
);
create unique index person_email on person (email);

create table session (
  id uuid primary key,
  person_id uuid not null references person on delete cascade,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoked_reason text,
  ip text not null,
  user_agent text not null
);
create index session_of_person on session (person_id);
create index session_expiry on session (expires_at);

-- Only hashes: a copy of the database signs nobody in.
create table refresh_token (
  hash bytea primary key,
  session_id uuid not null references session on delete cascade,
  parent_hash bytea,
  created_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index refresh_token_of_session on refresh_token (session_id);

create table sign_in_failure (
  id bigint generated always as identity primary key,
  email text not null,
  address text not null,
  at timestamptz(3) not null
);
create index sign_in_failure_email on sign_in_failure (email, at);
create index sign_in_failure_address on sign_in_failure (address, at);

create table signing_key (
  id text primary key,
  public_jwk jsonb not null,
  private_sealed bytea not null,
  created_at timestamptz(3) not null
);

-- One key per owner (a cluster, the installation), wrapped by the key of the key file.
create table data_key (
  owner text not null,
  version integer not null,
  wrapping_key text not null,
  wrapped bytea not null,
  created_at timestamptz(3) not null default now(),
  primary key (owner, version)
);
create index data_key_wrapping on data_key (wrapping_key);

create table preference (
  person_id uuid primary key references person on delete cascade,
  preferences jsonb not null,
  updated_at timestamptz(3) not null
);

create table waitlist_entry (
  id uuid primary key default gen_random_uuid(),
  email text not null unique,
  name text not null,
  company text not null,
  created_at timestamptz(3) not null,
  invited_at timestamptz(3)
);

-- What happened, written in the transaction of the change; the publisher numbers it after the commit, so that numbers become visible in order.
create table outbox (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null,
  audit jsonb,
  event jsonb,
  constraint outbox_says_something check (audit is not null or event is not null)
);

-- Delivered at commit, to the publisher of every process.
create function outbox_notifies() returns trigger language plpgsql as $$
begin
  perform pg_notify('steelyard_outbox', '');
  return null;
end
$$;
create trigger outbox_written after insert on outbox for each statement execute function outbox_notifies();

create table audit_entry (
  seq bigint primary key,
  at timestamptz(3) not null,
  action text not null,
  outcome text not null,
  actor_kind text not null,
  actor_id uuid,
  actor_name text not null,
  session_id uuid,
  ip text,
  request_id text,
  target_kind text,
  target_id text,
  target_name text,
  before jsonb,
  after jsonb,
  previous_hash text not null,
  hash text not null
);
create index audit_entry_at on audit_entry (at);
create index audit_entry_target on audit_entry (target_kind, target_id);
create index audit_entry_actor on audit_entry (actor_id);

create function audit_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_entry_no_change before update or delete on audit_entry for each row execute function audit_is_append_only();
create trigger audit_entry_no_truncate before truncate on audit_entry for each statement execute function audit_is_append_only();

create table event (
  id bigint primary key,
  at timestamptz(3) not null,
  name text not null,
  -- Scope that a reader must hold; null for any signed-in user.
  scope text,
  data jsonb not null
);
create index event_at on event (at);

create table publication (
  singleton boolean primary key default true check (singleton),
  last_event bigint not null default 0,
  last_audit bigint not null default 0,
  last_hash text not null default ''
);
insert into publication default values;

create table idempotent_call (
  person_id uuid not null references person on delete cascade,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  started_at timestamptz(3) not null,
  -- Set in the transaction of the change itself: from then on it must not be done again, even if the answer was never stored.
  committed_at timestamptz(3),
  answered_at timestamptz(3),
  status integer,
  answer jsonb,
  headers jsonb,
  primary key (person_id, operation, key)
);
create index idempotent_call_started on idempotent_call (started_at);

create table operation (
  id uuid primary key default gen_random_uuid(),
  kind text not null,
  target_kind text not null,
  target_id uuid,
  target_name text not null,
  -- Scope that a reader must hold; null for any signed-in user.
  scope text,
  status text not null default 'pending' check (status in ('pending', 'running', 'waiting', 'cancelling', 'cancelled', 'failed', 'done')),
  reason text,
  -- Which reconciler is woken by a cancel or a retry.
  queue text,
  queue_key text,
  created_by uuid,
  created_by_name text not null,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  cancel_requested_at timestamptz(3),
  -- Counts retries asked for by a person.
  round integer not null default 1,
  version bigint not null default 1
);
create index operation_target on operation (target_kind, target_id);
create index operation_created on operation (created_at desc, id);
create index operation_unfinished on operation (status) where ended_at is null;

create table operation_step (
  operation_id uuid not null references operation on delete cascade,
  key text not null,
  position integer not null,
  title text not null,
  node_id uuid,
  status text not null default 'todo' check (status in ('todo', 'running', 'waiting', 'done', 'failed', 'skipped')),
  attempt integer not null default 0,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  reason text,
  primary key (operation_id, key)
);

-- One row per object that a reconciler looks after. The job of the queue library says when; this row says who may write.
create table wake_up (
  queue text not null,
  key text not null,
  -- Counts up each time the object is taken; a writer with an older number is refused.
  fence bigint not null default 0,
  -- When it is to be looked at next; null where nothing is asked for.
  due_at timestamptz(3),
  -- Who has it now, by database time.
  owner text,
  job_id uuid,
  taken_at timestamptz(3),
  beat_at timestamptz(3),
  failures integer not null default 0,
  last_error text,
  primary key (queue, key)
);
create index wake_up_due on wake_up (queue, due_at) where owner is null;
create index wake_up_owner on wake_up (owner) where owner is not null;

-- The intent is committed before the effect, so that after a crash it is known what may have happened.
create table effect (
  queue text not null,
  key text not null,
  name text not null,
  fence bigint not null,
  attempts integer not null,
  intent_at timestamptz(3) not null,
  done_at timestamptz(3),
  failed_at timestamptz(3),
  error text,
  primary key (queue, key, name)
);

create table city_index (
  country_code text not null,
  city_code text not null,
  last_index integer not null,
  primary key (country_code, city_code)
);

create table datacenter (
  id uuid primary key default gen_random_uuid(),
  country_code text not null,
  city_code text not null,
  city_name text not null,
  index integer not null check (index between 1 and 999),
  code text not null generated always as (country_code || '-' || city_code || '-' || index::text) stored,
  tier integer check (tier between 1 and 4),
  certifications text[] not null default '{}',
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint datacenter_code unique (country_code, city_code, index),
  constraint datacenter_place check ((latitude is null) = (longitude is null))
);
