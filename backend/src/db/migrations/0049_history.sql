-- What happened to servers, clusters and datacenters, written in the transaction of each change. It is never changed; only old entries are removed.
create table history (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null,
  kind text not null,
  object_kind text not null check (object_kind in ('server', 'cluster', 'datacenter')),
  object_id uuid not null,
  -- The names stay when the objects are renamed or removed.
  object_name text not null,
  cluster_id uuid,
  cluster_name text,
  actor_kind text not null check (actor_kind in ('user', 'token', 'steelyard')),
  actor_name text not null,
  operation_id uuid,
  -- Who requested the operation.
  requested_by text,
  message text not null,
  before jsonb not null,
  after jsonb not null,
  -- The last lines of a failing boot.
  log text
);
create index history_at on history (at desc, id desc);
create index history_object on history (object_id, at desc, id desc);
create index history_cluster on history (cluster_id, at desc, id desc) where cluster_id is not null;
create index history_kind on history (kind, at desc, id desc);
create index history_actor on history (actor_name, at desc, id desc);
create index history_requested_by on history (requested_by, at desc, id desc) where requested_by is not null;
create index history_words on history using gin (to_tsvector('simple', message || ' ' || object_name || ' ' || coalesce(cluster_name, '') || ' ' || actor_name));

create function history_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the history is append-only' using errcode = 'insufficient_privilege';
end
$$;
create trigger history_no_change before update on history for each row execute function history_is_append_only();

-- The state of each object before the first entry that is kept. Of objects that were added later there is none.
create table history_base (
  object_kind text not null check (object_kind in ('server', 'cluster')),
  object_id uuid not null,
  at timestamptz(3) not null,
  state jsonb not null,
  primary key (object_kind, object_id)
);
-- What is known of the hardware is recorded when it changes.
insert into history_base (object_kind, object_id, at, state)
select 'server', s.id, s.updated_at, jsonb_build_object(
  'name', s.name, 'status', s.status, 'address', s.address, 'datacenter', d.code,
  'cluster', case when s.cluster_id is null then null else jsonb_build_object('id', s.cluster_id, 'name', s.cluster_name) end,
  'role', s.type, 'reachable', s.reachable, 'stage', s.stage, 'node_ready', s.node_ready, 'identity', s.identity_state,
  'talos_version', s.talos_version, 'schematic', s.schematic, 'hardware', null, 'links_up', null, 'addresses', null,
  'drifted', s.drift_since is not null, 'failure', s.failure)
from server s left join datacenter d on d.id = s.datacenter_id where s.status <> 'deleted';
insert into history_base (object_kind, object_id, at, state)
select 'cluster', c.id, c.updated_at, jsonb_build_object(
  'name', c.name, 'removed', false, 'status', c.status, 'problem', c.problem, 'locked_out', c.locked_out,
  'talos_version', c.talos_version, 'kubernetes_version', c.kubernetes_version, 'endpoint', c.endpoint)
from cluster c where c.deleted_at is null;
