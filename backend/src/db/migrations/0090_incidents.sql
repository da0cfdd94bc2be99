-- What has happened, as people see it: the findings with one cause are the parts of one incident.
create table incident (
  id uuid primary key default gen_random_uuid(),
  -- Names the cause and the place. What begins there within the hour continues the incident.
  key text not null,
  title text not null,
  effect text not null check (effect in ('nobody_served', 'writes_refused', 'redundancy_gone', 'one_server', 'in_time')),
  -- Of the finding that is the cause.
  kind text not null,
  object_kind text not null check (object_kind in ('server', 'cluster', 'datacenter', 'channel', 'installation')),
  object_id uuid not null,
  object_name text not null,
  cluster_id uuid,
  cluster_name text,
  datacenter_id uuid,
  datacenter_code text,
  operation_id uuid,
  finding_id uuid references finding on delete set null,
  reason text not null,
  -- The finding that takes the most, if that is another one.
  worst jsonb,
  -- What it is about, {kind, id, name}, the worst first; the rest is only in the lists of ids.
  objects jsonb not null,
  object_ids uuid[] not null,
  -- Ids and names or codes, for filters.
  clusters text[] not null,
  datacenters text[] not null,
  parts integer not null,
  since timestamptz(3) not null,
  -- When it began within the last hour.
  begins timestamptz(3)[] not null,
  ended_at timestamptz(3),
  -- The incident that it turned out to be part of.
  merged_into uuid references incident on delete set null,
  assigned_to uuid,
  assigned_name text,
  assigned_by text,
  assigned_at timestamptz(3),
  note text,
  constraint incident_assigned check (num_nulls(assigned_to, assigned_name, assigned_by, assigned_at) in (0, 4))
);
-- Two processes can't store one incident twice.
create unique index incident_open on incident (key) where ended_at is null;
create index incident_ended on incident (ended_at) where ended_at is not null;
create index incident_finding on incident (finding_id) where finding_id is not null;
create index incident_merged on incident (merged_into) where merged_into is not null;
alter table finding add column incident_id uuid references incident on delete set null;
create index finding_incident on finding (incident_id) where incident_id is not null;

-- Today's open findings become incidents: one for each that no open finding has caused. The first judgement says what each takes, and joins those that have one cause.
insert into incident (key, title, effect, kind, object_kind, object_id, object_name, cluster_id, cluster_name, datacenter_id, datacenter_code, operation_id, finding_id, reason, objects, object_ids, clusters, datacenters, parts, since, begins, assigned_to, assigned_name, assigned_by, assigned_at, note)
select f.kind || ' ' || f.object_id, f.object_name, 'in_time', f.kind, f.object_kind, f.object_id, f.object_name, f.cluster_id, f.cluster_name, f.datacenter_id, f.datacenter_code, f.operation_id, f.id, f.reason,
  jsonb_build_array(jsonb_build_object('kind', f.object_kind, 'id', f.object_id, 'name', f.object_name)), array[f.object_id],
  array_remove(array[f.cluster_id::text, f.cluster_name], null), array_remove(array[f.datacenter_id::text, f.datacenter_code], null),
  1, f.since, f.begins, p.id, p.email, case when p.id is not null then p.email end, case when p.id is not null then f.acknowledged_at end, f.acknowledged_note
from finding f
left join person p on p.email = f.acknowledged_by and f.acknowledged_at is not null
where f.ended_at is null
  and not exists (select from finding c where c.id = f.caused_by and c.ended_at is null);
update finding f set incident_id = i.id from incident i where i.finding_id = f.id;
update finding f set incident_id = c.incident_id from finding c
where f.ended_at is null and f.incident_id is null and c.id = f.caused_by and c.ended_at is null;
update incident i set parts = (select count(*) from finding f where f.incident_id = i.id);
