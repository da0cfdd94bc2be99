-- A server that is not to be used: {reason, by, since}.
alter table server add column quarantine jsonb;
