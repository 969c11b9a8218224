"""What can be guaranteed: bounds, margins, unique children, and the surveys they ask for."""
