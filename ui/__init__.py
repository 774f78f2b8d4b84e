"""The browser dashboard and the command line; both use the engine through its public interface only."""
