-- What a channel is told goes by incidents.
-- A finding that has ended, and whose end is still to be told, becomes an incident that has ended.
insert into incident (key, title, effect, kind, object_kind, object_id, object_name, cluster_id, cluster_name, datacenter_id, datacenter_code, operation_id, finding_id, reason, objects, object_ids, clusters, datacenters, parts, since, begins, ended_at)
select f.kind || ' ' || f.object_id, f.object_name, 'in_time', f.kind, f.object_kind, f.object_id, f.object_name, f.cluster_id, f.cluster_name, f.datacenter_id, f.datacenter_code, f.operation_id, f.id, f.reason,
  jsonb_build_array(jsonb_build_object('kind', f.object_kind, 'id', f.object_id, 'name', f.object_name)), array[f.object_id],
  array_remove(array[f.cluster_id::text, f.cluster_name], null), array_remove(array[f.datacenter_id::text, f.datacenter_code], null),
  1, f.since, f.begins, f.ended_at
from finding f
where f.ended_at is not null and f.incident_id is null
  and exists (select from alert a where a.finding_id = f.id and a.ended_at is null);
update finding f set incident_id = i.id from incident i where i.finding_id = f.id and f.incident_id is null;

alter table alert add column incident_id uuid references incident on delete cascade;
update alert a set incident_id = f.incident_id from finding f where f.id = a.finding_id;
-- What was told to have ended is over.
delete from alert where incident_id is null or ended_at is not null;
-- Of several findings of one incident, the one that was told last.
delete from alert a using alert b
where a.incident_id = b.incident_id and a.channel_id = b.channel_id and (a.told_at, a.finding_id) < (b.told_at, b.finding_id);
alter table alert drop constraint alert_pkey;
alter table alert
  alter column incident_id set not null,
  add primary key (incident_id, channel_id),
  -- The finding that the message named as the cause.
  alter column finding_id drop not null,
  drop constraint alert_finding_id_fkey,
  add constraint alert_finding_id_fkey foreign key (finding_id) references finding on delete set null;
create index alert_finding on alert (finding_id) where finding_id is not null;
-- What the first judgement finds isn't news: no incident of today takes more than before.
update incident set effect = 'nobody_served' where title = object_name and ended_at is null;
