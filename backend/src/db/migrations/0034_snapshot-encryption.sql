-- With which key the Secrets in a snapshot are encrypted: the beginning of an encrypted Secret for each provider. Null: not known.
alter table snapshot add column encryption jsonb;
