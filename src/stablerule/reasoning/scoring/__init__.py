"""Where one score comes from: rules made ready (theory), those that fire (firing), their score, and the reasons."""
