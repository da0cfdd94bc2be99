-- Channels, rules and silences have a scope of their own. API tokens keep what they may do: those with
-- users:manage managed channels and rules.
update api_token set scopes = array_append(scopes, 'alerts:manage') where 'users:manage' = any (scopes);
