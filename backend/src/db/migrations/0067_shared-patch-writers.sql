-- Who has saved a shared patch last, so that a second writer learns of whom they would overwrite.
alter table shared_patch add column updated_by_name text;
update shared_patch set updated_by_name = created_by_name;
alter table shared_patch alter column updated_by_name set not null;
