-- Steelyard itself has findings, of its backups, and so have the channels that tell findings.
alter table finding drop constraint finding_object_kind_check;
alter table finding add constraint finding_object_kind_check check (object_kind in ('server', 'cluster', 'datacenter', 'channel', 'installation'));
alter table silence drop constraint silence_object_kind_check;
alter table silence add constraint silence_object_kind_check check (object_kind in ('server', 'cluster', 'datacenter', 'channel', 'installation'));
