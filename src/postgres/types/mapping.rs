use iceberg_core::spec::Type;
pub fn column_type_sql(_from: &Type) -> String {
    String::new()
}
