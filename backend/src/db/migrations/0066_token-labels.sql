-- Labels that a new server gets when it joins with the token, or with an image that carries it.
alter table join_token add column labels jsonb not null default '{}';
