-- What a deployment needs may be away for hours: it goes back to the queue, and its turn comes again at this time.
alter table deployments add column not_before timestamptz;
