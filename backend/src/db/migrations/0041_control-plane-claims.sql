-- The one control plane of a cluster that a configuration is being sent to. A claim of a process that was killed ends by itself.
create table control_plane_claim (
  cluster_id uuid primary key references cluster on delete cascade,
  node_id uuid not null,
  until timestamptz not null
);
