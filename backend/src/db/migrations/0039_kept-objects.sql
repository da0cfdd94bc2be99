-- Objects in a cluster's Kubernetes that Steelyard hasn't written and keeps. A cluster whose own key is kept has no key of Steelyard's.
alter table cluster alter column chain_address drop not null;
alter table cluster add column kept jsonb not null default '[]';
-- Objects that a user has confirmed to be replaced, with the uid and the version that they had.
alter table cluster add column replaces jsonb not null default '{}';
