-- Attempts that were refused only for now: they count for the limit of the wait, not as failed.
alter table snapshot add column waits integer not null default 0;
