-- Failures are counted by source: an address, a network of one machine, or a device that the account has signed in from before. Their times are the
-- database's own, and what another clock has written counts no more.
delete from sign_in_failure;
alter table sign_in_failure rename column address to source;
drop index sign_in_failure_email;
drop index sign_in_failure_address;
create index sign_in_failure_pair on sign_in_failure (email, source, at);
create index sign_in_failure_source on sign_in_failure (source, at);
