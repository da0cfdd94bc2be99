-- Whether Kubernetes calls the node Ready, as the watch over its cluster saw it last. All null: in no cluster, or not asked yet.
alter table server
  add column node_ready boolean,
  add column node_reason text,
  add column node_since timestamptz(3);

-- Talos keeps the log of an installation in memory: the lines of the boot that failed are gone with the next one.
alter table cluster_server
  add column failure_log text,
  add column failure_log_at timestamptz(3);
