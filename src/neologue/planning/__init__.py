"""What a campaign will find and cost, before anyone is asked."""
