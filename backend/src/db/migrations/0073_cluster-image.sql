-- Extensions and kernel arguments that were asked for when the cluster was created, which every server
-- gets at its installation. Null: each server keeps those of the image that it runs.
alter table cluster add column wanted_image jsonb;
