"""What every metric shares: the contract, clips, texts, devices, precision, weights."""
