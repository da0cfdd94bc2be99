-- Whether an announcement has taken a use of its join token: one that was refused has not, nor has one from an address that may not be dialled.
-- Earlier programs counted the latter as well.
alter table join_arrival add column counted boolean not null default false;
update join_arrival set counted = result <> 'refused';
