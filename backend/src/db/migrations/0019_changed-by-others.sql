-- What others change on machines and in clusters: found by comparing with what a machine was given, and kept or overwritten by choice.

alter table cluster_server_config
  -- From when on the machine was known to hold these bytes, or others that mean the same: what it holds now is compared with the newest of them.
  add column held_at timestamptz(3);
update cluster_server_config c set held_at = c.created_at
  from cluster_server s
  where s.cluster_id = c.cluster_id and s.node_id = c.node_id and s.sent_at is not null;

alter table cluster_server
  -- Images that the machine's configuration was seen to name in place of ours (`talosctl upgrade-k8s`); null where they are ours.
  add column images jsonb,
  -- SHA-256 of the configuration that a person chose to overwrite; cleared when that is done, or when it has changed again.
  add column overwrite_seen text;

-- A configuration that was taken over from a machine: what its patches are merged onto, in place of what would be generated.
create table cluster_server_base (
  cluster_id uuid not null,
  node_id uuid not null,
  sealed bytea not null,
  created_at timestamptz(3) not null,
  primary key (cluster_id, node_id),
  foreign key (cluster_id, node_id) references cluster_server on delete cascade
);

alter table server
  add column drift_since timestamptz(3),
  add column drift_seen text;
