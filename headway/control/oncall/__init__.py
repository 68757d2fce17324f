"""What somebody reads who was woken up: logs, releases, trends, reports, the page of the fleet."""
