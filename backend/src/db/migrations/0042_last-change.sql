-- The last change that was sent to a server, and why its newest configuration has not been sent yet.
alter table server
  add column last_change jsonb,
  add column pending jsonb;
