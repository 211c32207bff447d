"""What the documentation and the code cite, by topic: papers, standards, data and tools."""
