-- Whether the channel is to be told once more, as news, that the finding is open. Its end is told in any case.
alter table alert add column again boolean not null default false;
