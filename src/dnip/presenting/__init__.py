"""What people look at: text, pictures, reports."""
