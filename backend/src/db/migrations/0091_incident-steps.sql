-- The story of an incident: when it began, what became part of it, who was told, who has it, when it ended. Texts are written by the program; only the newest are kept.
create table incident_step (
  id bigint generated always as identity primary key,
  incident_id uuid not null references incident on delete cascade,
  at timestamptz(3) not null,
  text text not null,
  -- Who did it; null: Steelyard, or it happened.
  by_name text,
  -- Only who may read objects of this kind reads the step; null: who may read the incident.
  object_kind text
);
create index incident_step_of on incident_step (incident_id, id);
insert into incident_step (incident_id, at, text) select id, since, 'It began. ' || reason from incident;
