-- A rotation of a cluster's secrets that has not ended. Until its end both the old secrets (cluster_secret) and the new ones are kept and used.
create table cluster_rotation (
  cluster_id uuid primary key references cluster on delete cascade,
  what text not null check (what in ('talos_ca', 'kubernetes_ca', 'aggregator_ca', 'tokens')),
  -- What every machine is known to do, and so which authority Steelyard's own certificates are of; see change/rotate/stages.ts.
  stage text not null check (stage in ('accepting', 'switching', 'dropping', 'returning')),
  -- The bundle with the new secrets.
  sealed bytea not null,
  -- When the new secrets were in the escrow file, before their first use.
  escrowed_at timestamptz(3),
  begun_at timestamptz(3) not null,
  changed_at timestamptz(3) not null
);

-- Secrets that a cluster had before, for restores of snapshots and backups from that time.
create table cluster_secret_generation (
  cluster_id uuid not null references cluster on delete cascade,
  generation integer not null,
  -- Why they were replaced.
  what text not null check (what in ('talos_ca', 'kubernetes_ca', 'aggregator_ca', 'tokens', 'import')),
  sealed bytea not null,
  used_from timestamptz(3) not null,
  used_until timestamptz(3) not null,
  primary key (cluster_id, generation)
);

-- Certificates of a cluster that end soon, as they were last read.
alter table cluster
  add column certificates_ending jsonb,
  add column certificates_read_at timestamptz(3);
