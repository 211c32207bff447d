"""What any table or release achieves: privacy models as measures, risk, attacks, errors of queries."""
