-- Where findings are sent.
create table channel (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  kind text not null check (kind in ('webhook', 'mail', 'alertmanager')),
  -- Of a webhook or an Alertmanager.
  url text,
  -- Of mail.
  host text,
  port integer check (port between 1 and 65535),
  security text check (security in ('starttls', 'tls', 'none')),
  mail_from text,
  mail_to text[],
  -- Name with which Steelyard signs in.
  username text,
  -- Signing secret or password, sealed by the vault.
  secret_sealed bytea,
  -- The former signing secret, with which messages are signed too until the time.
  former_sealed bytea,
  former_until timestamptz(3),
  paused boolean not null default false,
  -- When the last message arrived, and why the last attempt failed.
  verified_at timestamptz(3),
  problem text,
  problem_since timestamptz(3),
  -- When an Alertmanager last got every open alert.
  refreshed_at timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint channel_name unique (name),
  constraint channel_url check ((kind = 'mail') = (url is null)),
  constraint channel_mail check (num_nulls(host, port, security, mail_from, mail_to) = case kind when 'mail' then 0 else 5 end),
  constraint channel_former check ((former_sealed is null) = (former_until is null))
);

-- Which findings are sent to which channels, and when. Empty lists restrict nothing.
create table alert_rule (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  severities text[] not null,
  kinds text[] not null,
  datacenter_ids uuid[] not null,
  cluster_ids uuid[] not null,
  -- Null: every channel.
  channel_ids uuid[],
  wait_minutes integer not null check (wait_minutes between 0 and 1440),
  -- Time of the day, UTC, of the message that lists what is open. Null: findings are sent at once.
  digest_at text,
  remind_hours integer check (remind_hours between 1 and 168),
  paused boolean not null default false,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint alert_rule_name unique (name)
);
-- What serves nobody, or less than it should, is told at once; what needs an act in time, once a day. A rule without channels of its own begins to tell with the first channel.
insert into alert_rule (name, severities, kinds, datacenter_ids, cluster_ids, wait_minutes, digest_at, remind_hours, created_at, updated_at) values
  ('urgent', '{down,degraded}', '{}', '{}', '{}', 0, null, 4, now(), now()),
  ('daily', '{attention}', '{}', '{}', '{}', 0, '07:00', null, now(), now());

-- Findings that are not sent for a time.
create table silence (
  id uuid primary key default gen_random_uuid(),
  note text not null,
  severities text[] not null,
  kinds text[] not null,
  datacenter_ids uuid[] not null,
  cluster_ids uuid[] not null,
  object_kind text check (object_kind in ('server', 'cluster', 'datacenter')),
  object_id uuid,
  object_name text,
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  -- Weekly times between start and end.
  repeats jsonb,
  made_by text not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint silence_object check (num_nulls(object_kind, object_id, object_name) in (0, 3)),
  constraint silence_times check (starts_at < ends_at)
);
create index silence_end on silence (ends_at);

-- Messages to channels. The row is the queue and, once it has ended, the history.
create table delivery (
  id uuid primary key default gen_random_uuid(),
  -- Null: the channel was removed.
  channel_id uuid references channel on delete set null,
  channel_name text not null,
  test boolean not null default false,
  subject text not null,
  content jsonb not null,
  attempts integer not null default 0,
  -- When it is sent next; null when it has ended.
  next_at timestamptz(3),
  -- Given up after this time.
  expires_at timestamptz(3) not null,
  -- Whether it arrived; null as long as it waits.
  arrived boolean,
  problem text,
  created_at timestamptz(3) not null,
  ended_at timestamptz(3),
  constraint delivery_end check (num_nulls(arrived, ended_at) in (0, 2) and (ended_at is null) = (next_at is not null))
);
create index delivery_next on delivery (channel_id, next_at) where next_at is not null;
create index delivery_made on delivery (created_at);

create table delivery_attempt (
  delivery_id uuid not null references delivery on delete cascade,
  number integer not null,
  at timestamptz(3) not null,
  took_ms integer not null,
  -- Of HTTP or SMTP.
  status integer,
  problem text,
  answer text not null,
  primary key (delivery_id, number)
);

-- What a channel was told of a finding.
create table alert (
  finding_id uuid not null references finding on delete cascade,
  channel_id uuid not null references channel on delete cascade,
  -- When it was last told that the finding is open.
  told_at timestamptz(3) not null,
  -- When it was told that the finding has ended; null as long as that is to be told.
  ended_at timestamptz(3),
  primary key (finding_id, channel_id)
);
create index alert_open on alert (channel_id) where ended_at is null;
