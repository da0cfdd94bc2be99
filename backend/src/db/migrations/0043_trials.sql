-- Changes of servers' networks on trial: Talos undoes them unless they are confirmed in time.

-- The last trial of a server, stored before the machine is asked, so that another run goes on with it after a crash.
create table configuration_trial (
  cluster_id uuid not null,
  node_id uuid primary key,
  generation integer not null,
  -- SHA-256 of the configuration on trial, and of the one that the machine had before.
  hash text not null,
  former_hash text not null,
  -- Who asked for it: the same attempt isn't made again after it was undone.
  attempt text not null,
  -- Where the machine is reached with the configuration on trial.
  address text not null,
  phase text not null check (phase in ('trying', 'confirming', 'confirmed', 'undoing', 'undone')),
  lasts_ms integer not null,
  began_at timestamptz(3) not null,
  -- When the machine accepted the trial; null if its answer was lost.
  answered_at timestamptz(3),
  confirmed_at timestamptz(3),
  reason text,
  foreign key (cluster_id, node_id) references cluster_server on delete cascade
);
create index on configuration_trial (cluster_id, node_id);

-- The process that gives a server a configuration at this moment. A claim of a process that was killed ends by itself, or with its restart.
create table configuration_claim (
  node_id uuid primary key references server on delete cascade,
  owner text not null,
  instance uuid not null,
  until timestamptz(3) not null
);

-- The loss of the server is confirmed: the configuration is sent without a trial.
alter table cluster_server_config add column is_for_good boolean not null default false;

alter table server
  add column trial_state text check (trial_state in ('running', 'undone')),
  add column trial_reason text,
  add column trial_since timestamptz(3);
