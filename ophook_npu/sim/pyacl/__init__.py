"""pyACL: the folder ``acl`` below this is laid out as the module ``acl`` of a toolkit; none imports it here."""
