-- Charts of a bot show its disk too. Null: it was not looked at yet, or the sample is older than this column.
alter table resource_samples add disk_bytes bigint;
