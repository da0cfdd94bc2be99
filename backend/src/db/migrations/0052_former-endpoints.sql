-- Tokens of service accounts outlive a change of the endpoint, which issues them.

-- Former endpoints of the Kubernetes API, the newest first: API servers accept the tokens that they have issued.
alter table cluster add column former_endpoints text[] not null default '{}';
